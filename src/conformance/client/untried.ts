/** Rules for clients that no case tries, and why: told, so that nobody takes them for checked. */
export const UNTRIED = {
  C7: "a client is given a pin in every case",
} as const
