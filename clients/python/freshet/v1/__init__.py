"""The messages and stubs of freshet.v1, as protoc makes them of proto/freshet/v1; `./dev python generate` does so."""
