"""The reply to a question: the options to reach the goal, with their effort in words, and the proof."""
