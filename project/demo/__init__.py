"""The demo: an account deletion whose worker is killed in the middle of step 3, on real parts, checked afterwards."""
