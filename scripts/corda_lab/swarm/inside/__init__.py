"""Programs that run on the hosts of a stack, in containers of the image of the tools. They need Python and no more."""
