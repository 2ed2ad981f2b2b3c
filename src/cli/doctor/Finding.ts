/** Result of one check, with its remedy. */
export interface Finding {
  /** Stable name, for programs. */
  readonly check:
    | "address"
    | "reachable"
    | "certificate"
    | "session"
    | "suite"
    | "pin"
    | "evidence"
    | "clock"
    | "ready"
    | "providers"
    | "keys"
    | "limits"
    | "calls"
  readonly level: "ok" | "warning" | "error"
  readonly says: string
  readonly fix?: string
}

type Check = Finding["check"]

export const ok = (check: Check, says: string): Finding => ({ check, level: "ok", says })
export const warning = (check: Check, says: string, fix: string): Finding => ({ check, level: "warning", says, fix })
export const error = (check: Check, says: string, fix: string): Finding => ({ check, level: "error", says, fix })

/** Whether no check failed. */
export const isWell = (findings: ReadonlyArray<Finding>): boolean => findings.every(({ level }) => level !== "error")
