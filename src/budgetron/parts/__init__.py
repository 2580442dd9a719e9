"""What one writes down: kernels, losses, rules, budgets, feature maps, tasks."""
