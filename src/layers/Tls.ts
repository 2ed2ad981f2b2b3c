/**
 * Certificates of a server: read at start, and again on SIGHUP and when the files change. New files that do not work
 * leave the old ones in place, and `/ready` says so.
 */
import { X509Certificate } from "node:crypto"
import { watchFile, unwatchFile } from "node:fs"
import { readFile } from "node:fs/promises"
import type { Server as HttpsServer } from "node:https"
import { createSecureContext, type SecureContextOptions } from "node:tls"
import { DateTime, Effect, Queue, Schema } from "effect"
import type { TlsReadiness } from "../domain/readiness.ts"
import { ConfigurationMistakes } from "./config/Setting.ts"

export interface TlsSettings {
  readonly tlsCertFile: string | undefined
  readonly tlsKeyFile: string | undefined
  readonly tlsClientCaFile: string | undefined
  readonly tlsMinVersion: "TLSv1.2" | "TLSv1.3"
}

interface TlsFiles {
  readonly cert: string
  readonly key: string
  readonly clientCa: string | undefined
}

/** Certificate files that cannot be used. */
export class TlsError extends Schema.TaggedError<TlsError>()("TlsError", { problem: Schema.String }) {
  override get message(): string {
    return `TLS: ${this.problem}`
  }
}

/** The files to use, or `undefined` for plain HTTP; a half-configured pair is a mistake. */
export const tlsFiles = (settings: TlsSettings): Effect.Effect<TlsFiles | undefined, ConfigurationMistakes> => {
  const { tlsCertFile: cert, tlsClientCaFile: clientCa, tlsKeyFile: key } = settings
  if (cert !== undefined && key !== undefined) return Effect.succeed({ cert, key, clientCa })
  if (cert === undefined && key === undefined && clientCa === undefined) return Effect.succeed(undefined)
  const variable = cert === undefined ? "TLS_CERT_FILE" : "TLS_KEY_FILE"
  return Effect.fail(
    new ConfigurationMistakes({
      mistakes: [{ variable, problem: "is missing; TLS needs a certificate and its key" }],
    }),
  )
}

export interface LoadedTls {
  readonly context: SecureContextOptions
  readonly expiresAt: string
}

/** Throws when there is none. */
const firstCertificate = (pem: Buffer): X509Certificate => new X509Certificate(pem)

/** Reads the files and makes sure that they work together. */
export const loadTls = Effect.fnUntraced(function* (files: TlsFiles, minVersion: TlsSettings["tlsMinVersion"]) {
  return yield* Effect.tryPromise({
    try: async (): Promise<LoadedTls> => {
      const [cert, key, ca] = await Promise.all([
        readFile(files.cert),
        readFile(files.key),
        files.clientCa === undefined ? undefined : readFile(files.clientCa),
      ])
      const context: SecureContextOptions = { cert, key, minVersion, ...(ca === undefined ? {} : { ca }) }
      createSecureContext(context)
      // Authorities in which there is no certificate would be taken silently, and then every client be refused.
      if (ca !== undefined) firstCertificate(ca)
      const leaf = firstCertificate(cert)
      return { context, expiresAt: DateTime.formatIso(DateTime.makeUnsafe(leaf.validToDate)) }
    },
    catch: (cause) => new TlsError({ problem: cause instanceof Error ? cause.message : String(cause) }),
  })
})

/** How often the files are looked at for changes, in milliseconds. */
const WATCH_INTERVAL_MS = 5000

/** Keeps `server` on the newest working files while the scope is open, and tells the state for `/ready`. */
export const keepTlsFresh = Effect.fnUntraced(function* (
  server: HttpsServer,
  files: TlsFiles,
  minVersion: TlsSettings["tlsMinVersion"],
  first: LoadedTls,
) {
  let state: TlsReadiness = {
    mode: files.clientCa === undefined ? "tls" : "mtls",
    expires_at: first.expiresAt,
    last_reload_error: null,
  }
  const changes = yield* Queue.sliding<void>(1)
  const changed = () => void Queue.offerUnsafe(changes, undefined)
  const paths = [files.cert, files.key, ...(files.clientCa === undefined ? [] : [files.clientCa])]
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      process.on("SIGHUP", changed)
      for (const path of paths) watchFile(path, { interval: WATCH_INTERVAL_MS, persistent: false }, changed)
    }),
    () =>
      Effect.sync(() => {
        process.off("SIGHUP", changed)
        for (const path of paths) unwatchFile(path, changed)
      }),
  )
  const reload = loadTls(files, minVersion).pipe(
    Effect.matchEffect({
      onSuccess: (loaded) =>
        Effect.andThen(
          Effect.sync(() => {
            server.setSecureContext(loaded.context)
            state = { ...state, expires_at: loaded.expiresAt, last_reload_error: null }
          }),
          Effect.logInfo("TLS certificate reloaded"),
        ),
      onFailure: (error) =>
        Effect.andThen(
          Effect.sync(() => {
            state = { ...state, last_reload_error: error.problem }
          }),
          Effect.logError("TLS certificate not reloaded, the old one stays", error.problem),
        ),
    }),
  )
  yield* Queue.take(changes).pipe(Effect.andThen(reload), Effect.forever, Effect.forkScoped)
  return Effect.sync(() => state)
})
