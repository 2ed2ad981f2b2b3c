import { useEffect, useState } from "preact/hooks"
import { age, moment } from "./format.ts"

/** Returns the current time, updated every `every` milliseconds while `running`. */
export const useNow = (every: number, running = true): number => {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    if (!running) return
    const timer = setInterval(() => setNow(Date.now()), every)
    return () => clearInterval(timer)
  }, [every, running])
  return now
}

export const Ago = ({ now, time }: { readonly time: string; readonly now: number }) => (
  <time dateTime={time} title={moment(time)}>
    {age(time, now)}
  </time>
)
