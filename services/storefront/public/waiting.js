/** What a buyer who waits is told: his number, who is ahead, how long it takes, and all there is to know of a draw. */

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const COMMIT_CHARS = 16

/** A duration in words, as people say it. */
export function inWords(ms) {
  if (ms < 10 * SECOND_MS) return 'a few seconds'
  if (ms < MINUTE_MS) return `about ${Math.round(ms / SECOND_MS / 5) * 5} seconds`
  if (ms < 1.5 * MINUTE_MS) return 'about a minute'
  if (ms < HOUR_MS) return `about ${Math.round(ms / MINUTE_MS)} minutes`
  return 'more than an hour'
}

/** The text for a 202 answer. */
export function waitingText({ place, ahead, etaMs }, activity, now) {
  const draw = activity?.draw
  if (draw && !place && now < draw.drawnAt)
    return `You take part in the draw. It is held in ${inWords(draw.drawnAt - now)}; stay here, your number comes by itself.`
  if (!place)
    return ahead > 0 ? `${people(ahead)} ahead of you. ${capital(inWords(etaMs))}.` : 'It is almost your turn.'
  if (ahead === 0) return `You are number ${place}, and the next one. Stay here.`
  return `You are number ${place}. ${people(ahead)} ahead of you. ${capital(inWords(etaMs))}. Your number stays yours, also when you reload this page.`
}

/** What stands under a product: how its buyers are chosen. */
export function admissionText(activity, now) {
  if (activity.admission === 'queue') return 'Buyers are called in the order in which they come.'
  if (activity.admission === 'draw' && activity.draw) return drawText(activity.draw, activity.opensAt, now)
  return activity.hasWaitingList ? 'When all units are taken you can wait: what comes back goes to who came first.' : ''
}

function drawText({ commit, seed, drawSeconds, drawnAt }, opensAt, now) {
  const published = `Published before the sale: ${commit.slice(0, COMMIT_CHARS)}…`
  if (now < opensAt) return `Who asks in the first ${drawSeconds} seconds takes part in a draw. ${published}`
  if (now < drawnAt) return `The draw is held in ${inWords(drawnAt - now)}. ${published}`
  return seed
    ? `The draw is over. Anybody can check it with the seed ${seed}.`
    : 'The draw is over; its seed is shown in a moment.'
}

/** How near the rabbit is, from 0 (far) to 1 (it is your turn); shown by the page's style, said in words above. */
export function nearness({ place, ahead }) {
  if (!place) return 0
  return 1 - ahead / Math.max(place, ahead + 1)
}

function people(count) {
  return count === 1 ? 'One person is' : `${count.toLocaleString('en')} people are`
}

const capital = (text) => text[0].toUpperCase() + text.slice(1)
