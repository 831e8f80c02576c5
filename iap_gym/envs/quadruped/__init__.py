"""A quadruped robot: an obstacle course and indoor navigation, seen by a camera on the robot."""
