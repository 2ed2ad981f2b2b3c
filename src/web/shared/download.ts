/** Downloads JSON `text` as a file called `name`. */
export const download = (name: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  // Revoked later, because the browser may not have started to read it.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
