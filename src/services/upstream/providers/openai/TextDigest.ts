/** The length and hash of the text so far, to recognize it again without keeping the texts of all open streams. */
export class TextDigest {
  length = 0
  private hash = 0

  add(text: string): void {
    this.length += text.length
    this.hash = hashOf(text, this.hash)
  }

  begins(text: string): boolean {
    return hashOf(text.slice(0, this.length), 0) === this.hash
  }
}

const hashOf = (text: string, hash: number): number => {
  let sum = hash
  for (let at = 0; at < text.length; at++) sum = (Math.imul(sum, 31) + text.charCodeAt(at)) | 0
  return sum
}
