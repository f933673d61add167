"""The verbs: one module each, with ``add_arguments(parser)`` and ``run(args)``. Thin: logic lives below."""
