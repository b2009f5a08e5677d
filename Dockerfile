# An image that runs freshetd without root, for this machine alone unless it is given TLS and identities (docs/security.md):
#   docker build -t freshet . && docker run -p 127.0.0.1:7071:7071 -p 127.0.0.1:7072:7072 freshet
FROM debian:12 AS build
WORKDIR /src
# The packages first: they change less often than the sources.
COPY dev ./
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends git && ./dev deps
COPY . .
RUN ./dev build release && strip build/release/bin/freshetd build/release/bin/freshet \
    # The shared libraries that the programs need, as packages, so that the image gets these and no others.
    && ldd build/release/bin/freshetd build/release/bin/freshet \
       | awk '$3 ~ /^\// { print $3 }' | sort -u \
       | while read -r lib; do dpkg -S "$(readlink -f "$lib")" 2>/dev/null || dpkg -S "${lib#/usr}" ; done \
       | cut -d: -f1 | sort -u > /packages

FROM debian:12-slim
COPY --from=build /packages /packages
RUN apt-get update -qq \
    && xargs -a /packages apt-get install -y -qq --no-install-recommends \
    && rm -rf /var/lib/apt/lists/* /packages \
    && useradd --system --uid 7071 --home-dir /data freshet \
    && install -d -m 700 -o freshet -g freshet /data
COPY --from=build /src/build/release/bin/freshetd /src/build/release/bin/freshet /usr/local/bin/
USER freshet
VOLUME /data
EXPOSE 7071 7072
ENTRYPOINT ["freshetd", "--data-dir", "/data", "--listen", "0.0.0.0:7071", "--http-listen", "0.0.0.0:7072"]
# A container is reached as its ports are published. Flags of `docker run` replace this one.
CMD ["--insecure"]
