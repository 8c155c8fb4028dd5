/** Versions of the protocol; a client begins with 2 and may say HELLO 3. */
export type RespVersion = 2 | 3

/**
 * Writes replies into one text, sent when the turn is over. RESP2 knows no maps, nulls and pushes: there they are arrays and
 * the null text.
 */
export class RespWriter {
  version: RespVersion = 2
  #text = ''

  /** Characters that wait. */
  get length(): number {
    return this.#text.length
  }

  /** What was written since the last call. */
  take(): string {
    const text = this.#text
    this.#text = ''
    return text
  }

  simple(text: string): void {
    this.#text += `+${oneLine(text)}\r\n`
  }

  /** `message` begins with its code, in capitals. */
  error(message: string): void {
    this.#text += `-${oneLine(message)}\r\n`
  }

  integer(value: number): void {
    this.#text += `:${value}\r\n`
  }

  bulk(text: string): void {
    this.#text += `$${Buffer.byteLength(text)}\r\n${text}\r\n`
  }

  null(): void {
    this.#text += this.version === 3 ? '_\r\n' : '$-1\r\n'
  }

  /** Begins an array: its items follow. */
  array(items: number): void {
    this.#text += `*${items}\r\n`
  }

  /** Begins a map: name and value of each pair follow. */
  map(pairs: number): void {
    this.#text += this.version === 3 ? `%${pairs}\r\n` : `*${pairs * 2}\r\n`
  }

  /** Begins a message that no command asked for. */
  push(items: number): void {
    this.#text += this.version === 3 ? `>${items}\r\n` : `*${items}\r\n`
  }

  /** Texts as an array. */
  bulks(texts: readonly string[]): void {
    this.array(texts.length)
    for (const text of texts) this.bulk(text)
  }
}

/** What a client sent may stand in an error, but must not end its line. */
function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]/g, ' ')
}
