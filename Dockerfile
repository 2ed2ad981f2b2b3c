# Runs the proxy by default, the gateway with `docker run … sealgate gateway`. Works with a read-only root: the attestation
# key and the embedded database are in /var/lib/sealgate/.sealgate.

FROM node:26.10.0-slim AS build
WORKDIR /build
COPY package.json package-lock.json tsconfig.json ./
COPY packages packages
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY scripts scripts
COPY src src
RUN node scripts/build.ts && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:26.10.0-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY package.json LICENSE ./
RUN install -d -o node -g node -m 700 /var/lib/sealgate
USER node
WORKDIR /var/lib/sealgate
VOLUME /var/lib/sealgate
EXPOSE 3000 3001
STOPSIGNAL SIGTERM
# Ignores the certificate with TLS, because it names the public host. If clients need certificates, probe from outside instead.
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s \
  CMD ["node", "--no-warnings", "-e", "const { PORT, TLS_CERT_FILE } = process.env; process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; const ask = (port) => fetch(`${TLS_CERT_FILE ? 'https' : 'http'}://127.0.0.1:${port}/health`).then(({ ok }) => ok || Promise.reject()); Promise.any((PORT ? [PORT] : [3001, 3000]).map(ask)).then(() => process.exit(0), () => process.exit(1))"]
# Without --disable-sigusr1, a signal opens an inspector that reads every prompt.
ENTRYPOINT ["node", "--disable-sigusr1", "/app/dist/cli/main.js"]
CMD ["proxy"]
