/** Lookups of names that tenants choose. */
import { lookup as systemLookup } from "node:dns"

type Done = (error: NodeJS.ErrnoException | null, addresses: ReadonlyArray<{ address: string; family: number }>) => void

export type Lookup = (name: string, done: Done) => void

/** Unlike `dns.Resolver`, it reads the hosts file and search domains, which names in private networks need. */
export const lookupOfSystem: Lookup = (name, done) => systemLookup(name, { all: true }, done)

interface Waiting {
  readonly tenant: string
  readonly name: string
  readonly since: number
  readonly done: Done
}

/**
 * Makes one lookup at a time. The system makes two at once for the whole process, and none can be cancelled, so names
 * whose servers stay silent could keep calls of models from connecting. Next comes the tenant whose lookups took the
 * fewest seconds since it began to wait, so a name that resolves waits for at most one that does not. A lookup answers
 * everybody who waits for its name. A lookup that waits for `timeout` (milliseconds) is dropped: its connection has
 * timed out.
 */
export const inTurns = (lookup: Lookup, timeout: number): ((tenant: string, name: string, done: Done) => void) => {
  let waiting: ReadonlyArray<Waiting> = []
  /** Started seconds of lookups, by waiting tenant. */
  let used: ReadonlyMap<string, number> = new Map()
  const usedBy = ({ tenant }: Waiting) => used.get(tenant) ?? 0
  const begin = () => {
    const [first] = waiting.toSorted((a, b) => usedBy(a) - usedBy(b))
    if (first === undefined) return
    const begun = performance.now()
    lookup(first.name, (error, addresses) => {
      const now = performance.now()
      const taken = usedBy(first) + Math.floor((now - begun) / 1000) + 1
      const answered = waiting.filter(({ name }) => name === first.name)
      waiting = waiting.filter(({ name, since }) => name !== first.name && now - since < timeout)
      used = new Map(waiting.map((one) => [one.tenant, one.tenant === first.tenant ? taken : usedBy(one)]))
      begin()
      for (const { done } of answered) done(error, addresses)
    })
  }
  return (tenant, name, done) => {
    waiting = [...waiting, { tenant, name, since: performance.now(), done }]
    if (waiting.length === 1) begin()
  }
}
