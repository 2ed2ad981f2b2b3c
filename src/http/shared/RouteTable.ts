/** Which paths exist and which methods they take: for 405 answers, and as bounded labels of metrics and logs. */
interface Route {
  readonly method: string
  readonly path: string
  readonly segments: ReadonlyArray<string>
}

export interface RouteTable {
  /** Methods that the path of `url` takes; empty when there is no such path. */
  readonly methods: (url: string) => ReadonlyArray<string>
  /** The route's path with its parameters as `:name`, or `unknown`. */
  readonly label: (method: string, url: string) => string
}

/** The path of a request's target, without its query. */
export const pathOf = (url: string): string => {
  const end = url.search(/[?#]/)
  return end < 0 ? url : url.slice(0, end)
}

const segmentsOf = (url: string): ReadonlyArray<string> =>
  pathOf(url)
    .split("/")
    .filter((segment) => segment !== "")

/** What of an API says where its endpoints are. */
export interface Endpoints {
  readonly groups: Readonly<
    Record<string, { readonly endpoints: Readonly<Record<string, { readonly method: string; readonly path: string }>> }>
  >
}

/** The routes of an API and those that are served beside it, each of them as `[method, path]`. */
export const makeRouteTable = (
  api: Endpoints,
  beside: ReadonlyArray<readonly [method: string, path: string]>,
): RouteTable => {
  const routes: Array<Route> = []
  const add = (method: string, path: string) => routes.push({ method, path, segments: segmentsOf(path) })
  for (const group of Object.values(api.groups)) {
    for (const endpoint of Object.values(group.endpoints)) add(endpoint.method, endpoint.path)
  }
  for (const [method, path] of beside) add(method, path)

  const matching = (url: string): ReadonlyArray<Route> => {
    const segments = segmentsOf(url)
    return routes.filter(
      (route) =>
        route.segments.length === segments.length &&
        route.segments.every((expected, i) => expected.startsWith(":") || expected === segments[i]),
    )
  }
  return {
    methods: (url) => [
      ...new Set(matching(url).flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]))),
    ],
    label: (method, url) =>
      matching(url).find((route) => route.method === (method === "HEAD" ? "GET" : method))?.path ?? "unknown",
  }
}
