# An image that runs freshetd without root, made of the Debian packages, for this machine alone unless it is given TLS
# and identities (docs/security.md):
#   docker build -t freshet . && docker run -p 127.0.0.1:7071:7071 -p 127.0.0.1:7072:7072 freshet
# It needs BuildKit (Docker 23 and later, or buildah). `./dev image` runs its steps without either.
FROM debian:12 AS build
WORKDIR /src
# Of what is packaged, where there is no git to ask: --build-arg SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)".
ARG SOURCE_DATE_EPOCH
# The packages first: they change less often than the sources. Debian 12 keeps one version of each, so none is pinned.
COPY dev ./
# hadolint ignore=DL3008
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends git \
    && ./dev deps \
    && rm -rf /var/lib/apt/lists/*
COPY . .
RUN ./dev packages

FROM debian:12-slim
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Freshet" \
      org.opencontainers.image.description="The recrawl scheduler: which page to fetch next" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# The number of the user is fixed, so that volumes keep their owner. The packages are not left in a layer.
# hadolint ignore=DL3008
RUN --mount=type=bind,from=build,source=/src/build/packages,target=/packages \
    useradd --system --uid 7071 --home-dir /data --shell /usr/sbin/nologin freshet \
    && install -d -m 700 -o freshet -g freshet /data \
    && apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends \
       /packages/freshet-server_*.deb /packages/freshet-client_*.deb \
    && apt-get clean \
    && rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/log/apt /var/log/dpkg.log /var/lib/freshet
USER 7071:7071
VOLUME /data
EXPOSE 7071 7072
STOPSIGNAL SIGTERM
# With TLS, say how the server is reached: FRESHET_SERVER, a name of its certificate, and FRESHET_TLS_CA.
HEALTHCHECK --interval=10s --timeout=10s --start-period=5m --retries=3 \
    CMD ["freshet", "--connect-timeout", "3", "--timeout", "5", "health"]
ENTRYPOINT ["freshetd", "--data-dir", "/data", "--listen", "0.0.0.0:7071", "--http-listen", "0.0.0.0:7072"]
# A container is reached as its ports are published. Flags of `docker run` replace this one.
CMD ["--insecure"]
