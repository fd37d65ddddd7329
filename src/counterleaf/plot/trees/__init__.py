"""Pictures of trees."""
