/**
 * What clients hold together of a bounded resource, and who has to give way when it is exhausted: the client that holds
 * most, so that nobody can use up what others need.
 */
interface Shares<Holder> {
  /** Reports how many bytes a holder has from now on; 0 once it has let go. */
  readonly record: (client: string, holder: Holder, bytes: number) => void
  /** The bytes that are held in all. */
  readonly total: () => number
  readonly holders: () => ReadonlyArray<Holder>
  /** Of the client that holds most, the holder that has held something for longest. */
  readonly first: () => Holder | undefined
}

interface Share<Holder> {
  bytes: number
  /** The holders in the order in which they began, because maps keep that order. */
  readonly holders: Map<Holder, number>
}

export const makeShares = <Holder>(): Shares<Holder> => {
  const clients = new Map<string, Share<Holder>>()
  let total = 0
  return {
    record: (client, holder, bytes) => {
      const known = clients.get(client)
      // Most answers are gone before anybody looks: nothing has to be made to note that.
      if (known === undefined && bytes === 0) return
      const share = known ?? { bytes: 0, holders: new Map<Holder, number>() }
      const grown = bytes - (share.holders.get(holder) ?? 0)
      share.bytes += grown
      total += grown
      if (bytes > 0) share.holders.set(holder, bytes)
      else share.holders.delete(holder)
      if (share.holders.size > 0) clients.set(client, share)
      else clients.delete(client)
    },
    total: () => total,
    holders: () => [...clients.values()].flatMap(({ holders }) => [...holders.keys()]),
    first: () => {
      let most: Share<Holder> | undefined
      for (const share of clients.values()) if (most === undefined || share.bytes > most.bytes) most = share
      return most?.holders.keys().next().value
    },
  }
}
