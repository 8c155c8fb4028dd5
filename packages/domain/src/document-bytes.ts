/** 64 KiB: the longest document, as JSON in UTF-8. A longer one is refused whole, by whoever publishes, carries or reads it. */
export const DOCUMENT_BYTES_MAX = 65_536
