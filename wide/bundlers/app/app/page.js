export default () => <p>Millrace</p>
