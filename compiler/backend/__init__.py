"""Back end: mapped graph -> placement, routes, configuration, bitstream."""
