# Builds CodeInfo and puts it beside the Codex command line.
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked

FROM node:22-bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates curl git \
    && rm -rf /var/lib/apt/lists/* \
    && npm install --global @openai/codex@0.169.0
COPY --from=build /src/target/release/codeinfo /usr/local/bin/codeinfo
RUN mkdir -p /var/lib/codeinfo /var/lib/codex /data \
    && chown node:node /var/lib/codeinfo /var/lib/codex /data
USER node
EXPOSE 5010 5011
CMD ["codeinfo", "serve"]
