"""The messages and stubs of freshet.v1 that `./dev python generate` makes from proto/freshet/v1 with protoc."""
