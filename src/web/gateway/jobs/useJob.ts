/** Follows one job by polling and by its event stream, which the client resumes after a cut. */
import { useEffect, useReducer, useState } from "preact/hooks"
import { isEnded } from "../../../domain/jobs/job.ts"
import { explain, type Failure, renewed } from "../failure.ts"
import { useSession } from "../session/SessionContext.ts"
import { applyUpdate, type JobUpdate, type ShownJob } from "./jobState.ts"

/** Polling interval, because the stream is silent before the first step and after a failure. */
const EVERY_MS = 2000

interface FollowedJob {
  readonly state: ShownJob | undefined
  readonly failure: Failure | undefined
  /** Starts over after a failure. */
  readonly retry: () => void
  readonly hear: (update: JobUpdate) => void
}

export const useJob = (id: string): FollowedJob => {
  const { gateway } = useSession()
  const [state, hear] = useReducer(applyUpdate, undefined)
  const [failure, setFailure] = useState<Failure>()
  const [turn, setTurn] = useState(0)

  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    let timer: ReturnType<typeof setTimeout> | undefined
    let following = false
    let known: Failure | undefined

    const apply = (update: JobUpdate) => {
      if (signal.aborted) return
      known = undefined
      setFailure(undefined)
      hear(update)
    }
    const failed = (error: unknown) => {
      if (signal.aborted) return
      known = renewed(known, explain(error))
      setFailure(known)
    }
    const read = async () => {
      const job = await gateway.jobs.get(id, { signal })
      apply({ type: "read", job })
      return job
    }
    const follow = async () => {
      hear({ type: "following" })
      for await (const event of gateway.jobs.events(id, { signal })) {
        apply(event)
        // The event lacks status, attempt and cost.
        if (event.type === "step") read().catch(failed)
      }
      clearTimeout(timer)
    }
    const look = async () => {
      try {
        const job = await read()
        if (isEnded(job.status)) return
        if (!following) follow().catch(failed)
        following = true
      } catch (error) {
        failed(error)
        if (explain(error).final === true) return
      }
      again()
    }
    const again = () => {
      if (signal.aborted) return
      timer = setTimeout(() => (document.hidden ? again() : void look()), EVERY_MS)
    }
    void look()
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [gateway, id, turn])

  return { state, failure, hear, retry: () => setTurn((turn) => turn + 1) }
}
