/**
 * Keeps a server on the newest certificates that work: the files are read again on SIGHUP and looked at every few
 * seconds. Files that do not work leave the old ones in place, and `/ready` says so.
 */
import type { Server as HttpsServer } from "node:https"
import { DateTime, Duration, Effect, Metric, Option, Queue, Result } from "effect"
import type { TlsReadiness } from "../../domain/readiness.ts"
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

/**
 * How often the contents of the files are compared. Contents rather than events or times of files: the same for files
 * written in place, renamed over, reached through links that are swapped, and on network file systems.
 */
const INTERVAL = Duration.seconds(5)
/** How soon files are looked at again that were just changing, so that nothing half-written is taken. */
const SETTLE = Duration.seconds(1)

type Look = Result.Result<TlsContents, TlsError>

const idOf = (look: Look): string => (Result.isSuccess(look) ? look.success.digest : look.failure.problem)

/** A certificate nobody would believe is no better than the one it replaces. */
const checkNow = Effect.fnUntraced(function* (look: Look, minVersion: TlsSettings["tlsMinVersion"]) {
  const loaded = yield* checkTls(yield* Effect.fromResult(look), minVersion)
  const problem = outsideValidity(loaded, yield* DateTime.now)
  return problem === undefined ? loaded : yield* new TlsError({ problem })
})

/** What SIGHUP asks for, until the scope closes. */
const hangups = Effect.gen(function* () {
  const queue = yield* Queue.sliding<void>(1)
  const hangup = () => void Queue.offerUnsafe(queue, undefined)
  yield* Effect.acquireRelease(
    Effect.sync(() => process.on("SIGHUP", hangup)),
    () => Effect.sync(() => process.off("SIGHUP", hangup)),
  )
  return queue
})

/** Keeps `server`, which serves with `first`, up to date while the scope is open, and tells the state for `/ready`. */
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

  const takeOver = Effect.fnUntraced(function* (loaded: LoadedTls) {
    const { clientCa } = inUse.contents
    server.setSecureContext(loaded.context)
    if (clientCa !== undefined && loaded.contents.clientCa?.equals(clientCa) !== true) connections.retire()
    inUse = loaded
    error = null
    yield* Metric.update(certificateExpiry, DateTime.toEpochMillis(loaded.expiresAt) / 1000)
    yield* Metric.update(reloads({ outcome: "success" }), 1)
    yield* Effect.logInfo("TLS certificate reloaded").pipe(
      Effect.annotateLogs({ expires_at: DateTime.formatIso(loaded.expiresAt) }),
    )
  })

  const stay = Effect.fnUntraced(function* (problem: string, isAsked: boolean) {
    yield* Metric.update(reloads({ outcome: "failure" }), 1)
    // Tried again at every look, because time or access rights alone can mend it; said once.
    if (problem === error && !isAsked) return
    error = problem
    yield* Effect.logError("TLS certificate not reloaded, the old one stays", problem)
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
      const isNew = error !== null || id !== inUse.contents.digest
      if (!isAsked && !(isSettled && isNew)) continue
      yield* checkNow(look, minVersion).pipe(
        Effect.matchEffect({ onSuccess: takeOver, onFailure: ({ problem }) => stay(problem, isAsked) }),
      )
    }
  })

  const problem = outsideValidity(first, yield* DateTime.now)
  if (problem !== undefined) yield* Effect.logWarning("clients will refuse this server", problem)
  yield* Metric.update(certificateExpiry, DateTime.toEpochMillis(first.expiresAt) / 1000)
  // A series that began with its first failure would show no increase.
  for (const outcome of ["success", "failure"]) yield* Metric.update(reloads({ outcome }), 0)
  yield* Effect.forkScoped(watch)
  return Effect.sync((): TlsReadiness => ({
    mode: files.clientCa === undefined ? "tls" : "mtls",
    expires_at: DateTime.formatIso(inUse.expiresAt),
    last_reload_error: error,
  }))
})
