#!/usr/bin/env bash
# Makes the Go package of the API, in freshetv1/, with protoc and its two plugins for Go that go.mod names and go.sum
# pins.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
proto=../../proto
module=example.org/freshet-worker
options=()
for file in "$proto"/freshet/v1/*.proto; do
  name=${file#"$proto"/}
  options+=("--go_opt=M$name=$module/freshetv1" "--go-grpc_opt=M$name=$module/freshetv1")
done
protoc --proto_path="$proto" --go_out=. --go_opt=module="$module" --go-grpc_out=. --go-grpc_opt=module="$module" \
  --plugin=protoc-gen-go="$(go tool -n protoc-gen-go)" --plugin=protoc-gen-go-grpc="$(go tool -n protoc-gen-go-grpc)" \
  "${options[@]}" "$proto"/freshet/v1/*.proto
