/** Reads something again: when the gateway announces changes, or else at intervals. Pauses while the page is hidden. */

/** Minimum milliseconds between two reads after changes. */
const LEAST_MS = 3000
/** Pauses after a read last at least this many times its duration, so that slow reads take a small part of the time. */
const REST = 10
/** Milliseconds between reads while changes are announced. Some things, such as circuits, change with time alone. */
const MOST_MS = 60_000

interface Kept {
  /** Returns whether it succeeded. */
  readonly read: () => Promise<boolean>
  /** Milliseconds after a read until the next one, while no changes are announced. */
  readonly every: number
  /** Opens a stream of announcements. */
  readonly changes: ((signal: AbortSignal) => AsyncIterable<void>) | undefined
}

/** Keeps reading until the returned function is called. */
export const keepFresh = ({ changes, every, read }: Kept): (() => void) => {
  let timer: ReturnType<typeof setTimeout> | undefined
  let stream: AbortController | undefined
  let isStopped = false
  let isReading = false
  let isLive = false
  let hasNews = false
  let readAt = 0
  let took = 0

  const schedule = () => {
    clearTimeout(timer)
    if (isStopped || isReading || document.hidden) return
    const pause = hasNews ? Math.min(Math.max(LEAST_MS, REST * took), MOST_MS) : isLive ? MOST_MS : every
    timer = setTimeout(() => void readNow(), Math.max(0, readAt + pause - Date.now()))
  }

  const follow = async () => {
    if (changes === undefined || stream !== undefined || isStopped || document.hidden) return
    const opened = new AbortController()
    stream = opened
    try {
      for await (const _ of changes(opened.signal)) {
        isLive = true
        hasNews = true
        schedule()
      }
    } catch {
      // Without announcements it reads at intervals, and asks for them again after each read.
    }
    if (stream !== opened) return
    close()
    schedule()
  }

  const close = () => {
    stream?.abort()
    stream = undefined
    isLive = false
  }

  const readNow = async () => {
    clearTimeout(timer)
    isReading = true
    hasNews = false
    const begun = Date.now()
    if (!(await read())) close()
    isReading = false
    readAt = Date.now()
    took = readAt - begun
    void follow()
    schedule()
  }

  const seen = () => {
    if (document.hidden) {
      close()
      clearTimeout(timer)
    } else if (!isReading) void readNow()
  }

  void readNow()
  document.addEventListener("visibilitychange", seen)
  return () => {
    isStopped = true
    close()
    clearTimeout(timer)
    document.removeEventListener("visibilitychange", seen)
  }
}
