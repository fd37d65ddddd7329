// Choose the loops for this machine: the processor must know their instructions, and the operating system must save their
// registers.
#include <cpuid.h>

#include <cstdint>

#include "loops/loops.hpp"
#include "loops/sweeps.hpp"

namespace counterleaf {

extern const Loops loops_any, loops_v3, loops_v4;
extern const Sweeps sweeps_any, sweeps_v3, sweeps_v4;

namespace {

bool is_saved(std::uint32_t registers) noexcept {
    std::uint32_t low, high;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & registers) == registers;
}

enum class Instructions { Any, V3, V4 };

Instructions of_this_machine() noexcept {
    std::uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !is_saved(0x06)) return Instructions::Any;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2)) return Instructions::Any;
    constexpr std::uint32_t wide = bit_AVX512F | bit_AVX512DQ | bit_AVX512VL;
    return (b & wide) == wide && is_saved(0xe6) ? Instructions::V4 : Instructions::V3;
}

template <class Table>
const Table& chosen(const Table& any, const Table& v3, const Table& v4) noexcept {
    const Instructions known = of_this_machine();
    return known == Instructions::V4 ? v4 : known == Instructions::V3 ? v3 : any;
}

}  // namespace

const Loops loops = chosen(loops_any, loops_v3, loops_v4);
const Sweeps sweeps = chosen(sweeps_any, sweeps_v3, sweeps_v4);

}  // namespace counterleaf
