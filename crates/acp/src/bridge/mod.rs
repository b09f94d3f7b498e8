pub struct Bridge;
pub struct BridgeInput;
pub struct BridgeOptions;
pub struct BridgeOutput;
pub struct Decision;
