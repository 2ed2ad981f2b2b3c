/** Follows one job by polling and by its event stream, which the client resumes after a cut. */
import { useEffect, useReducer, useRef, useState } from "preact/hooks"
import { isEnded, TRANSITIONS } from "../../../domain/jobs/job.ts"
import { explain, type Failure, renewed } from "../failure.ts"
import { inTime } from "../../shared/inTime.ts"
import { useSession } from "../session/SessionContext.ts"
import { applyUpdate, type JobUpdate, type ShownJob } from "./jobState.ts"

/** Polling interval, because the stream is silent before the first step and after a failure. */
const EVERY_MS = 2000
/** Polling interval of an ended job that another client may resume. */
const RESUMABLE_EVERY_MS = 10_000

interface FollowedJob {
  readonly state: ShownJob | undefined
  readonly failure: Failure | undefined
  /** Starts over after a failure. */
  readonly retry: () => void
  readonly hear: (update: JobUpdate) => void
}

/** The job that is shown. Drops reads that began before it arrived, because answers may arrive in another order. */
const useShownJob = () => {
  const [state, dispatch] = useReducer(applyUpdate, undefined)
  const order = useRef({ begun: 0, shown: 0 })
  /** Returns the place of a read that begins now. */
  const begin = () => ++order.current.begun
  const hear = (update: JobUpdate, place = begin()) => {
    // A final state is shown whenever it arrives, because nothing follows it.
    if ("job" in update && TRANSITIONS[update.job.status].length > 0) {
      if (place < order.current.shown) return
      order.current.shown = place
    }
    dispatch(update)
  }
  return { state, begin, hear }
}

export const useJob = (id: string): FollowedJob => {
  const { gateway } = useSession()
  const { begin, hear, state } = useShownJob()
  const [failure, setFailure] = useState<Failure>()
  const [turn, setTurn] = useState(0)
  const retry = () => setTurn((turn) => turn + 1)

  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    let timer: ReturnType<typeof setTimeout> | undefined
    let following = false
    let ended = false
    let known: Failure | undefined

    const apply = (update: JobUpdate, place?: number) => {
      if (signal.aborted) return
      known = undefined
      setFailure(undefined)
      hear(update, place)
    }
    const failed = (error: unknown) => {
      if (signal.aborted) return
      known = renewed(known, explain(error))
      setFailure(known)
    }
    const read = async () => {
      const type = ended ? "read_after_end" : "read"
      const place = begin()
      const job = await inTime((signal) => gateway.jobs.get(id, { signal }), signal)
      apply({ type, job }, place)
      return job
    }
    const follow = async () => {
      hear({ type: "following" })
      for await (const event of gateway.jobs.events(id, { signal })) {
        apply(event)
        // The event lacks status, attempt and cost.
        if (event.type === "step") read().catch(failed)
      }
      ended = true
    }
    const look = async () => {
      const begunAfterEnd = ended
      try {
        const job = await read()
        if (TRANSITIONS[job.status].length === 0) return
        if (isEnded(job.status)) ended = true
        else if (begunAfterEnd) return retry()
        else if (!following) {
          following = true
          follow().catch(failed)
        }
      } catch (error) {
        failed(error)
        if (explain(error).final === true) return
      }
      again()
    }
    const again = () => {
      if (signal.aborted) return
      timer = setTimeout(() => (document.hidden ? again() : void look()), ended ? RESUMABLE_EVERY_MS : EVERY_MS)
    }
    void look()
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [gateway, id, turn])

  return { state, failure, hear, retry }
}
