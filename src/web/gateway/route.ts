/** Routes in the URL fragment: a view and at most an id. */
import { useEffect, useState } from "preact/hooks"

export type Route =
  | { readonly view: "agents" }
  | { readonly view: "new-agent" }
  | { readonly view: "agent"; readonly id: string }
  | { readonly view: "jobs" }
  | { readonly view: "job"; readonly id: string }
  | { readonly view: "savings" }
  | { readonly view: "routing" }

export const HOME: Route = { view: "agents" }

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    // `hrefOf` never writes this. The gateway will answer that the id does not exist.
    return text
  }
}

/** Parses a hash; `undefined` for an anchor within the page, such as `#main`. */
export const routeOf = (hash: string): Route | undefined => {
  if (hash === "" || hash === "#") return HOME
  if (!hash.startsWith("#/")) return undefined
  const [section = "", id = "", ...rest] = hash.slice(2).split("/").map(decoded)
  if (rest.length > 0) return HOME
  switch (section) {
    case "agents":
      if (id === "new") return { view: "new-agent" }
      return id === "" ? { view: "agents" } : { view: "agent", id }
    case "jobs":
      return id === "" ? { view: "jobs" } : { view: "job", id }
    case "savings":
      return { view: "savings" }
    case "routing":
      return { view: "routing" }
    default:
      return HOME
  }
}

export const hrefOf = (route: Route): string => {
  switch (route.view) {
    case "new-agent":
      return "#/agents/new"
    case "agent":
      return `#/agents/${encodeURIComponent(route.id)}`
    case "job":
      return `#/jobs/${encodeURIComponent(route.id)}`
    default:
      return `#/${route.view}`
  }
}

/** Returns the section of a view. */
export const sectionOf = (route: Route): "agents" | "jobs" | "savings" | "routing" => {
  switch (route.view) {
    case "agent":
    case "new-agent":
      return "agents"
    case "job":
      return "jobs"
    default:
      return route.view
  }
}

/** Returns the route in the address; anchors within the page do not change it. */
export const useRoute = (): Route => {
  const [route, setRoute] = useState(() => routeOf(location.hash) ?? HOME)
  useEffect(() => {
    const follow = () => setRoute((known) => routeOf(location.hash) ?? known)
    addEventListener("hashchange", follow)
    return () => removeEventListener("hashchange", follow)
  }, [])
  return route
}
