/** What the proxy says of itself. It is not signed: good to know, not to rely on. */
import { useEffect, useState } from "preact/hooks"
import type { PublicReadiness } from "../../domain/readiness.ts"
import type { Model } from "../../client/openai/models.ts"
import { baseUrl } from "../shared/render.tsx"

export interface ProxyState extends PublicReadiness {
  readonly models: ReadonlyArray<Model>
}

export const useReadiness = (): ProxyState | undefined => {
  const [state, setState] = useState<ProxyState>()
  useEffect(() => {
    const controller = new AbortController()
    const get = async (path: string): Promise<unknown> =>
      (await fetch(`${baseUrl()}${path}`, { signal: controller.signal })).json()
    const look = async () => {
      const [readiness, models] = await Promise.all([get("/ready"), get("/v1/models")])
      // Shown and not acted upon, and the page came from the same server, so its shape is taken as it is.
      const { data } = models as { readonly data: ReadonlyArray<Model> }
      setState({ ...(readiness as PublicReadiness), models: data })
    }
    // Without it the page says less; whatever is wrong shows with the first question.
    look().catch(() => undefined)
    return () => controller.abort()
  }, [])
  return state
}
