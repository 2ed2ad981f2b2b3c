/** Suggests a known name for an unknown one. */

/** Letters to insert or delete. Replacing one counts as both, so that words of other letters are not close. */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const above = row
    row = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 2)
      row.push(Math.min(swap, (above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1))
    }
  }
  return row[b.length] ?? 0
}

/** Share of a name that may be mistyped. */
const MISTYPED = 1 / 3
/** Two edits are always allowed: two swapped letters in a short name. */
const SWAPPED = 2

/** Whether one letter is missing, added or wrong, or two are swapped. */
const isTypo = (given: string, name: string): boolean =>
  Math.abs(given.length - name.length) <= 1 && distance(given, name) <= SWAPPED

/** Letters at the start of a word that make it the same one, as in PROXY and PROXIES. */
const STEM = 4

const isSameWord = (given: string, word: string): boolean =>
  isTypo(given, word) || (given.length >= STEM && word.startsWith(given.slice(0, STEM)))

/** Whether a name misspells `meant`, its nearest setting, or omits words. One with other words is another program's. */
export const isMistyped = (given: string, meant: string): boolean => {
  const name = given.toUpperCase()
  const [first = "", ...words] = name.split("_")
  const [own = "", ...others] = meant.split("_")
  return (
    isTypo(name, meant) ||
    (isTypo(first, own) && words.every((word) => others.some((other) => isSameWord(word, other))))
  )
}

/** Distance of a name that lacks only whole words, such as PROVIDER1_URL for PROVIDER1_BASE_URL. */
const missingWords = (given: string, name: string): number => {
  const words = name.split("_")
  return given.split("_").every((word) => words.includes(word)) ? words.length - given.split("_").length : Infinity
}

/** Returns the closest of `names`; `undefined` if none is close enough. */
export const nearest = (given: string, names: ReadonlyArray<string>): string | undefined => {
  const wanted = given.toUpperCase().replaceAll("-", "_")
  let [found, least] = [undefined as string | undefined, Math.max(SWAPPED, wanted.length * MISTYPED)]
  for (const name of names) {
    const far = Math.min(distance(wanted, name), missingWords(wanted, name))
    if (far <= least) [found, least] = [name, far - 1]
  }
  return found
}
