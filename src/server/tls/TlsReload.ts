/** Reads certificate files again on SIGHUP and every few seconds. If new ones do not work, the old ones stay in use. */
import type { Server as HttpsServer } from "node:https"
import { DateTime, Duration, Effect, Metric, Option, Queue, Result } from "effect"
import type { TlsReadiness } from "../../domain/operations/readiness.ts"
import { counter, gauge } from "../../services/metrics.ts"
import {
  checkTls,
  type LoadedTls,
  outsideValidity,
  readTls,
  type TlsContents,
  TlsError,
  type TlsFiles,
  type TlsSettings,
} from "./Tls.ts"
import { retireableConnections } from "./TlsConnections.ts"

const certificateExpiry = gauge("sealgate_tls_certificate_expires_at_seconds")()
const reloads = counter("sealgate_tls_reloads_total")

/** Compares contents, because neither events nor modification times show every way to replace files. */
const INTERVAL = Duration.seconds(5)
/** How soon changed files are read again, so that a half-written file is not used. */
const SETTLE = Duration.seconds(1)

type Look = Result.Result<TlsContents, TlsError>

const idOf = (look: Look): string => (Result.isSuccess(look) ? look.success.digest : look.failure.problem)

/** Rejects also a certificate that is not valid now, because no client would accept it. */
const checkNow = Effect.fnUntraced(function* (look: Look, minVersion: TlsSettings["tlsMinVersion"]) {
  const loaded = yield* checkTls(yield* Effect.fromResult(look), minVersion)
  const problem = outsideValidity(loaded, yield* DateTime.now)
  return problem === undefined ? loaded : yield* new TlsError({ problem })
})

/** Requests for a reload by SIGHUP, until the scope closes. */
const hangups = Effect.gen(function* () {
  const queue = yield* Queue.sliding<void>(1)
  const hangup = () => void Queue.offerUnsafe(queue, undefined)
  yield* Effect.acquireRelease(
    Effect.sync(() => process.on("SIGHUP", hangup)),
    () => Effect.sync(() => process.off("SIGHUP", hangup)),
  )
  return queue
})

/** Keeps the certificates of `server`, which began with `first`, fresh, and reports their state for `/ready`. */
export const keepTlsFresh = Effect.fnUntraced(function* (
  server: HttpsServer,
  files: TlsFiles,
  minVersion: TlsSettings["tlsMinVersion"],
  first: LoadedTls,
) {
  const connections = retireableConnections(server)
  const asked = yield* hangups
  let inUse = first
  let error: string | null = null
  let invalid: string | undefined

  const takeOver = Effect.fnUntraced(function* (loaded: LoadedTls) {
    const { clientCa } = inUse.contents
    server.setSecureContext(loaded.context)
    if (clientCa !== undefined && loaded.contents.clientCa?.equals(clientCa) !== true) connections.retire()
    inUse = loaded
    error = null
    invalid = undefined
    yield* Metric.update(certificateExpiry, DateTime.toEpochMillis(loaded.expiresAt) / 1000)
    yield* Metric.update(reloads({ outcome: "success" }), 1)
    yield* Effect.logInfo("TLS certificate reloaded").pipe(
      Effect.annotateLogs({ expires_at: DateTime.formatIso(loaded.expiresAt) }),
    )
  })

  const stay = Effect.fnUntraced(function* (problem: string, isAsked: boolean) {
    yield* Metric.update(reloads({ outcome: "failure" }), 1)
    // Tries the same files again each time: the clock or their access rights may make them valid. Logs the failure once.
    if (problem === error && !isAsked) return
    error = problem
    yield* Effect.logError(`TLS certificate not reloaded, the old one stays in use: ${problem}`).pipe(
      Effect.annotateLogs({ expires_at: DateTime.formatIso(inUse.expiresAt), certificate: files.cert, key: files.key }),
    )
  })

  /** Logs when the certificate in use ceases to be valid, once. */
  const checkValidity = Effect.gen(function* () {
    const problem = outsideValidity(inUse, yield* DateTime.now)
    if (problem !== undefined && problem !== invalid) yield* Effect.logError(`clients refuse this server: ${problem}`)
    invalid = problem
  })

  const watch = Effect.gen(function* () {
    let seen = first.contents.digest
    let patience = INTERVAL
    while (true) {
      const isAsked = Option.isSome(yield* Effect.timeoutOption(Queue.take(asked), patience))
      const look = yield* Effect.result(readTls(files))
      const id = idOf(look)
      const isSettled = id === seen
      seen = id
      patience = isSettled ? INTERVAL : SETTLE
      yield* checkValidity
      const isNew = error !== null || id !== inUse.contents.digest
      if (!isAsked && !(isSettled && isNew)) continue
      yield* checkNow(look, minVersion).pipe(
        Effect.matchEffect({ onSuccess: takeOver, onFailure: ({ problem }) => stay(problem, isAsked) }),
      )
    }
  })

  yield* checkValidity
  yield* Metric.update(certificateExpiry, DateTime.toEpochMillis(first.expiresAt) / 1000)
  // Both series exist from the start: one that began with its first failure would show no increase.
  for (const outcome of ["success", "failure"]) yield* Metric.update(reloads({ outcome }), 0)
  yield* Effect.forkScoped(watch)
  return Effect.sync((): TlsReadiness => ({
    mode: files.clientCa === undefined ? "tls" : "mtls",
    expires_at: DateTime.formatIso(inUse.expiresAt),
    last_reload_error: error,
    invalid: invalid ?? null,
  }))
})
