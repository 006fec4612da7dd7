"""The persons service: people, households, memberships and incomes, by day and by recorded time."""
