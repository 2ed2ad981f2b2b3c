/**
 * What clients hold together of something that there is only so much of, and who is to let go first when it is too much:
 * whoever takes most pays, so that nobody can use up what others need.
 */
export interface Shares<Holder> {
  /** Says how many bytes a holder of a client's has from now on; none when it has let go. */
  readonly record: (client: string, holder: Holder, bytes: number) => void
  /** Bytes that are held in all. */
  readonly total: () => number
  readonly holders: () => ReadonlyArray<Holder>
  /** Of the client that holds most, the holder that has held something for longest. */
  readonly first: () => Holder | undefined
}

interface Share<Holder> {
  bytes: number
  /** Ordered by when they began to hold something, as maps are. */
  readonly holders: Map<Holder, number>
}

export const makeShares = <Holder>(): Shares<Holder> => {
  const clients = new Map<string, Share<Holder>>()
  let total = 0
  return {
    record: (client, holder, bytes) => {
      const share = clients.get(client) ?? { bytes: 0, holders: new Map<Holder, number>() }
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
