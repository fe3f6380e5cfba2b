// The digest of a bundle: one letter, repeated.
export const digest = (letter: string) => letter.repeat(64);
