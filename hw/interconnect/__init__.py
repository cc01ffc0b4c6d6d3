"""The interconnect in hardware: registers on switch-box outputs, switch boxes and connection boxes."""
