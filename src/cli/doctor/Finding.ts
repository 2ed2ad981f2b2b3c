/** One thing that was looked at, how it is, and what to do about it. */
export interface Finding {
  /** Stable name, for programs. */
  readonly check:
    | "address"
    | "reachable"
    | "certificate"
    | "session"
    | "suite"
    | "pin"
    | "clock"
    | "ready"
    | "providers"
    | "keys"
    | "limits"
    | "calls"
  readonly level: "ok" | "warning" | "error"
  readonly says: string
  /** What mends it. */
  readonly fix?: string
}

type Check = Finding["check"]

export const ok = (check: Check, says: string): Finding => ({ check, level: "ok", says })
export const warning = (check: Check, says: string, fix: string): Finding => ({ check, level: "warning", says, fix })
export const error = (check: Check, says: string, fix: string): Finding => ({ check, level: "error", says, fix })

/** Whether nothing has to be mended. */
export const isWell = (findings: ReadonlyArray<Finding>): boolean => findings.every(({ level }) => level !== "error")
