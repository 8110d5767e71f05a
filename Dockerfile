# CodeInfo beside the Codex command line; `compose.yaml` builds and runs it.
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY .cargo .cargo
COPY benches benches
COPY crates crates
COPY docs/*.md docs/
COPY src src
COPY tests/house tests/house
COPY tests/support tests/support
# What was compiled before stays in the caches, so that a change of ours compiles ours alone.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo install --path . --locked --root /opt/codeinfo

FROM node:22-bookworm-slim
# The distribution's own versions, which get its security updates.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git \
    && rm -rf /var/lib/apt/lists/*
RUN npm install -g @openai/codex@0.169.0 && npm cache clean --force
# Repositories belong to their owner outside, and git reads such ones only when that is configured.
RUN git config --system --add safe.directory '*' \
    && install --directory --owner=node --group=node --mode=700 /var/lib/codeinfo /var/lib/codex \
    && install --directory --owner=node --group=node /data
COPY --from=build /opt/codeinfo/bin/codeinfo /usr/local/bin/codeinfo
ENV HOST=0.0.0.0 AUTH=required DATA_DIR=/var/lib/codeinfo CODEX_HOME=/var/lib/codex CODEX_WORKDIR=/data
USER 1000:1000
EXPOSE 5010 5011
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --start-interval=1s \
    CMD ["node", "-e", "fetch('http://127.0.0.1:5010/health').then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["codeinfo", "serve"]
