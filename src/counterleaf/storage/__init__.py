"""Tables, models, explainers and explanations in files."""
