/** Routes in the URL fragment: a view, and an id or a filter. */
import { Schema } from "effect"
import { useLayoutEffect, useState } from "preact/hooks"
import { JobStatus } from "../../domain/jobs/job.ts"

export type Route =
  | { readonly view: "overview" }
  | { readonly view: "agents" }
  | { readonly view: "new-agent" }
  | { readonly view: "agent"; readonly id: string }
  | { readonly view: "jobs"; readonly status?: JobStatus | undefined; readonly thread?: string | undefined }
  | { readonly view: "job"; readonly id: string }
  | { readonly view: "schedules" }
  | { readonly view: "routing" }
  | { readonly view: "keys" }
  | { readonly view: "audit" }

export const HOME: Route = { view: "overview" }

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    // `hrefOf` never writes such a hash. The gateway will answer that the id does not exist.
    return text
  }
}

const isStatus = Schema.is(JobStatus)

const filterIn = (query: string) => {
  const given = new URLSearchParams(query)
  const [status, thread] = [given.get("status"), given.get("thread") ?? undefined]
  return { status: isStatus(status) ? status : undefined, thread }
}

/** Parses a hash; `undefined` for an anchor within the page, such as `#main`. */
export const routeOf = (hash: string): Route | undefined => {
  if (hash === "" || hash === "#") return HOME
  if (!hash.startsWith("#/")) return undefined
  const [path = "", query = ""] = hash.slice(2).split("?")
  const [section = "", id = "", ...rest] = path.split("/").map(decoded)
  if (rest.length > 0) return HOME
  switch (section) {
    case "agents":
      if (id === "new") return { view: "new-agent" }
      return id === "" ? { view: "agents" } : { view: "agent", id }
    case "jobs":
      return id === "" ? { view: "jobs", ...filterIn(query) } : { view: "job", id }
    case "schedules":
      return { view: "schedules" }
    case "routing":
      return { view: "routing" }
    case "keys":
      return { view: "keys" }
    case "audit":
      return { view: "audit" }
    default:
      return HOME
  }
}

const queryOf = ({
  status,
  thread,
}: {
  readonly status?: string | undefined
  readonly thread?: string | undefined
}) => {
  const query = new URLSearchParams({ ...(status && { status }), ...(thread && { thread }) }).toString()
  return query === "" ? "" : `?${query}`
}

export const hrefOf = (route: Route): string => {
  switch (route.view) {
    case "new-agent":
      return "#/agents/new"
    case "agent":
      return `#/agents/${encodeURIComponent(route.id)}`
    case "job":
      return `#/jobs/${encodeURIComponent(route.id)}`
    case "jobs":
      return `#/jobs${queryOf(route)}`
    default:
      return `#/${route.view}`
  }
}

export const sectionOf = (route: Route): "overview" | "agents" | "jobs" | "routing" | "keys" => {
  switch (route.view) {
    case "agent":
    case "new-agent":
      return "agents"
    case "job":
    case "schedules":
      return "jobs"
    case "audit":
      return "keys"
    default:
      return route.view
  }
}

/** Returns the route in the address; anchors within the page do not change it. */
export const useRoute = (): Route => {
  const [route, setRoute] = useState(() => routeOf(location.hash) ?? HOME)
  // Not `useEffect`, which runs after the next frame: a change before that would be lost.
  useLayoutEffect(() => {
    const follow = () => setRoute((known) => routeOf(location.hash) ?? known)
    addEventListener("hashchange", follow)
    return () => removeEventListener("hashchange", follow)
  }, [])
  return route
}
