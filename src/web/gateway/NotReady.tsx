import { baseUrl } from "../shared/render.tsx"
import { useLoad } from "./useLoad.ts"

const EVERY_MS = 10_000
const UNAVAILABLE = 503

/** Warns while the gateway reports that it is not ready. Lists may still be shown, but no job begins. */
export const NotReady = () => {
  const { value: isUnready } = useLoad(
    async (signal) => {
      // Without an answer nothing is known; the views say that themselves.
      const answer = await fetch(`${baseUrl()}/ready`, { signal }).catch(() => undefined)
      return answer?.status === UNAVAILABLE
    },
    [],
    { every: EVERY_MS },
  )
  if (isUnready !== true) return null
  return (
    <div class="note bad" role="alert">
      <p>
        <strong>This gateway is not ready.</strong> It is shutting down, its database does not answer, or its disk is
        full. Its log and <code>/ready</code> of the operator’s listener say which.
      </p>
    </div>
  )
}
