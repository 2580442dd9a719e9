"""The commands, one module each. A module has ``main(argv)``."""
