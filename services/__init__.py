"""The services of the mesh, one folder each, and the two rooms they share: kernel and chassis."""
