"""The part of JSON Schema that our schema uses, as one function."""

import re

TYPES = {
    "object": lambda x: isinstance(x, dict),
    "array": lambda x: isinstance(x, list),
    "string": lambda x: isinstance(x, str),
    "boolean": lambda x: isinstance(x, bool),
    "null": lambda x: x is None,
    "number": lambda x: isinstance(x, int | float) and not isinstance(x, bool),
    "integer": lambda x: (isinstance(x, int) and not isinstance(x, bool)) or (isinstance(x, float) and x.is_integer()),
}
KEYWORDS = {
    "$schema", "$defs", "$ref", "title", "description", "type", "const", "enum", "properties", "required", "items", "pattern",
    "additionalProperties", "minProperties", "minItems", "maxItems", "minimum", "anyOf", "oneOf",
}  # fmt: skip


def is_valid(x, schema, root):
    """Whether a value obeys a schema."""
    if isinstance(schema, bool):
        return schema
    assert set(schema) <= KEYWORDS, set(schema) - KEYWORDS
    if "$ref" in schema:
        return is_valid(x, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)
    types = schema.get("type", list(TYPES))
    if not any(TYPES[one](x) for one in ([types] if isinstance(types, str) else types)):
        return False
    if "const" in schema and (x != schema["const"] or type(x) is not type(schema["const"])):
        return False
    if "enum" in schema and x not in schema["enum"]:
        return False
    if "anyOf" in schema and not any(is_valid(x, one, root) for one in schema["anyOf"]):
        return False
    if "oneOf" in schema and sum(is_valid(x, one, root) for one in schema["oneOf"]) != 1:
        return False
    if isinstance(x, dict):
        known = schema.get("properties", {})
        rest = schema.get("additionalProperties", True)
        return (
            set(schema.get("required", ())) <= set(x)
            and len(x) >= schema.get("minProperties", 0)
            and all(is_valid(part, known.get(key, rest), root) for key, part in x.items())
        )
    if isinstance(x, list):
        fits = schema.get("minItems", 0) <= len(x) <= schema.get("maxItems", len(x))
        return fits and all(is_valid(part, schema.get("items", True), root) for part in x)
    if isinstance(x, str):
        return "pattern" not in schema or re.search(schema["pattern"], x) is not None
    return not TYPES["number"](x) or x >= schema.get("minimum", x)
