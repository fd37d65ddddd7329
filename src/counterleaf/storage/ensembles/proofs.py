"""The proofs of answers about ensembles as JSON and back; their arrays are compressed."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.packed_arrays import Unpacker, pack
from counterleaf.proof.ensembles.pieces import Links
from counterleaf.proof.ensembles.steps import ForestProof
from counterleaf.question.cells import CellForest

_BOXES, _STEPS = ("parent", "side"), ("node", "kind", "multipliers", "coordinate", "cells")
_SETS, _STARTS = ("mu", "unit"), ("set_links", "set_messages")
_LINKS = {"tree": "link_tree", "coordinate": "link_coordinate", "pieces": "link_pieces", "piece_of": "piece_of"}
_WHOLE = (*_BOXES, *_STEPS, *_STARTS, "links_used", "messages")
_MESSAGES = ("i1", "i2", "i4")  # the formats of messages, which the check adds without overflow


def proof_out(proof: ForestProof) -> dict[str, Any]:
    """Write one proof."""
    names = (*_WHOLE, "marks", *_SETS, "weights")
    links = {name: pack(getattr(proof.links, field)) for field, name in _LINKS.items()}
    return {**{name: pack(getattr(proof, name)) for name in names}, **links}


def proof_in(content: dict[str, Any], forest: CellForest, unpacker: Unpacker) -> ForestProof:
    """Read a proof about a forest; ``EnsembleCertificate.check`` judges it.

    Shapes are checked, and the sizes from which the check allocates memory.
    """
    boxes, steps, sets = (content[name]["shape"][0] for name in ("parent", "node", "mu"))
    links = _links_in(content, forest, unpacker)
    sizes = {**dict.fromkeys(_BOXES, boxes), **dict.fromkeys(_STEPS, steps), **dict.fromkeys(_STARTS, sets + 1)}
    parts = {name: unpacker.whole(name, content[name], sizes.get(name)) for name in _WHOLE}
    reals = {name: unpacker.real(name, content[name], sets) for name in _SETS}
    weights = unpacker.real("weights", content["weights"], sets, None)
    if content["messages"]["dtype"] not in _MESSAGES:
        raise CounterleafError("the answer's JSON has messages of more than 32 bits; write it again with to_json")
    return ForestProof(**parts, **reals, weights=weights, marks=unpacker.octets("marks", content["marks"]), links=links)


def _links_in(content: dict[str, Any], forest: CellForest, unpacker: Unpacker) -> Links:
    """Read the links, checked to be those of trees and coordinates that exist, with no more pieces than cells."""
    tree = unpacker.whole("link_tree", content["link_tree"], None)
    coordinate = unpacker.whole("link_coordinate", content["link_coordinate"], len(tree))
    pieces = unpacker.whole("link_pieces", content["link_pieces"], len(tree))
    piece_of = unpacker.whole("piece_of", content["piece_of"], None)
    cells = np.diff(forest.first_cell)
    sound = ((tree >= 0) & (tree < len(forest.roots)) & (coordinate >= 0) & (coordinate < forest.size)).all()
    if not sound or (pieces > cells[coordinate]).any() or (pieces < 0).any():
        raise CounterleafError("the answer's JSON has a proof about other trees or features; write it again with to_json")
    return Links(tree, coordinate, pieces, piece_of)
