// What page.js draws with, as one script without imports.
export { default as embed } from 'vega-embed';
