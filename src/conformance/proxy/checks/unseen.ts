/** Rules that cannot be checked from outside, listed as skipped. */
import { type Check, check } from "../Check.ts"
import { skip } from "../outcome.ts"

const unseen = (must: string, name: string, says: string, why: string): Check =>
  check(must, name, says, async () => skip(why))

export const unseenChecks: ReadonlyArray<Check> = [
  unseen(
    "P16",
    "draining",
    "a server that shuts down refuses with draining",
    "that would need the server to be shut down",
  ),
  unseen(
    "P20",
    "overloaded",
    "a server that cannot keep another claim refuses with overloaded",
    "that would take as many requests as it has memory for",
  ),
  unseen(
    "P20",
    "eviction",
    "sessions that never served end first",
    "that would take more sessions than a server may hold",
  ),
  unseen(
    "P43",
    "clock-set-back",
    "times are clamped when the server's clock is set back",
    "that would need the server's clock",
  ),
  unseen(
    "P38",
    "surrogate-pairs",
    "pairs that a provider cuts in two are joined",
    "that needs a provider that cuts them; ours does not",
  ),
  unseen(
    "P25",
    "restart-after-failure",
    "a stream begins again, or fails, when its provider does",
    "that needs a provider that fails midway",
  ),
  unseen(
    "P48",
    "as-it-was-sent",
    "a provider gets the body as it was sent",
    "that needs a provider that tells what it got",
  ),
  unseen(
    "P49",
    "not-asked",
    "providers that do not speak an API are not asked",
    "that needs a provider that tells what it got",
  ),
  unseen(
    "P50",
    "events-as-they-came",
    "events of a provider come in their order and as they were",
    "that needs a provider that tells what it sent",
  ),
  unseen(
    "P34",
    "missed-ticks",
    "the frames of ticks that were missed are sent later",
    "that needs a connection that stalls as the kit's does not",
  ),
]
