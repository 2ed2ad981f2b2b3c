/** Follows a file of the operator: contents are compared, which also works for renamed files and network file systems. */
import { Duration, Effect, Result } from "effect"

/** How often the file is checked, and how soon again after a change, so that no half-written file is used. */
const INTERVAL = Duration.seconds(5)
const SETTLE = Duration.seconds(1)

interface Look<A> {
  readonly digest: string
  readonly content: A
}

interface Following<A, E> {
  /** The subject of the log's sentences. */
  readonly what: string
  readonly first: string
  readonly read: Effect.Effect<Look<A>, E>
  /** Puts new content into use, and returns what to log of it. */
  readonly take: (content: A) => Effect.Effect<Readonly<Record<string, unknown>>, E>
  /** Called with the reason why the file is refused, and with `null` once its content is in use. */
  readonly note?: (problem: string | null) => void
}

/**
 * Uses changed content once it stayed the same for a second. If it cannot be used, logs that once and keeps the old
 * content.
 */
export const followFile = Effect.fnUntraced(function* <A, E extends { readonly message: string }>({
  first,
  note = () => {},
  read,
  take,
  what,
}: Following<A, E>) {
  let taken = first
  let seen = first
  let reported: string | undefined
  while (true) {
    yield* Effect.sleep(seen === taken ? INTERVAL : SETTLE)
    const look = yield* Effect.result(read)
    const id = Result.isSuccess(look) ? look.success.digest : look.failure.message
    const isSettled = id === seen
    seen = id
    if (!isSettled) continue
    if (id === taken) {
      note(null)
      reported = undefined
      continue
    }
    const used = yield* Effect.result(Effect.flatMap(Effect.fromResult(look), ({ content }) => take(content)))
    if (Result.isFailure(used)) {
      const { message } = used.failure
      note(message)
      if (reported !== id) yield* Effect.logError(`${what} not reloaded, the old ones stay in use: ${message}`)
      reported = id
      continue
    }
    taken = id
    reported = undefined
    note(null)
    yield* Effect.logInfo(`${what} reloaded`).pipe(Effect.annotateLogs(used.success))
  }
})
