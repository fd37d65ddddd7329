"""The reply to a question: the ways to reach the goal, with their effort in words, and the proof."""
